// Everything public.
#pragma once

#include "filigree/challenge.h"
#include "filigree/network.h"
#include "filigree/plan.h"
#include "filigree/runtime.h"
#include "filigree/vocabulary.h"
