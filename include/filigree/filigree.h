// SPDX-License-Identifier: Apache-2.0
// What programs are built from. Experiments have headers of their own: sweep.h, exits.h (exit curves) and
// bench.h.
#pragma once

#include "filigree/activation.h"
#include "filigree/challenge.h"
#include "filigree/compress.h"
#include "filigree/data.h"
#include "filigree/evaluate.h"
#include "filigree/export.h"
#include "filigree/fetch.h"
#include "filigree/interchange.h"
#include "filigree/loss.h"
#include "filigree/network.h"
#include "filigree/optimizer.h"
#include "filigree/plan.h"
#include "filigree/predict.h"
#include "filigree/rows.h"
#include "filigree/runtime.h"
#include "filigree/scaling.h"
#include "filigree/session.h"
#include "filigree/sparse.h"
#include "filigree/train.h"
#include "filigree/version.h"
#include "filigree/vocabulary.h"
