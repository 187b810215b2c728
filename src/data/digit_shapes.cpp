// SPDX-License-Identifier: Apache-2.0
// The table of pen paths.
#include "data/digit_shapes.h"

#include <array>
#include <cassert>
#include <cstddef>

namespace filigree::internal {

namespace {

// Each digit: the points of its strokes, the strokes of its shapes, the list of its shapes.

constexpr PenPoint kZeroRound[] = {{.12f, -.47f}, {-.12f, -.47f}, {-.36f, -.20f}, {-.40f, .14f},
                                   {-.20f, .43f}, {.10f, .48f},   {.35f, .26f},   {.41f, -.08f},
                                   {.28f, -.36f}, {.06f, -.49f}};
constexpr PenPoint kZeroNarrow[] = {{.18f, -.42f}, {-.03f, -.49f}, {-.25f, -.25f}, {-.30f, .12f},
                                    {-.16f, .43f}, {.06f, .48f},   {.26f, .22f},   {.30f, -.10f},
                                    {.18f, -.40f}, {-.03f, -.44f}};
constexpr PenStroke kZero1[] = {kZeroRound};
constexpr PenStroke kZero2[] = {kZeroNarrow};
constexpr DigitShape kZero[] = {kZero1, kZero2};

constexpr PenPoint kOneStem[] = {{.01f, -.50f}, {.00f, .00f}, {-.01f, .50f}};
constexpr PenPoint kOneFlagged[] = {{-.17f, -.31f}, {-.04f, -.41f}, {.04f, -.50f},
                                    {.04f, -.50f},  {.02f, .00f},   {.01f, .50f}};
constexpr PenPoint kOneFoot[] = {{-.20f, .49f}, {.00f, .50f}, {.22f, .48f}};
constexpr PenStroke kOne1[] = {kOneStem};
constexpr PenStroke kOne2[] = {kOneFlagged};
constexpr PenStroke kOne3[] = {kOneFlagged, kOneFoot};
constexpr DigitShape kOne[] = {kOne1, kOne1, kOne1, kOne2, kOne3};  // the plain stem is what most write

constexpr PenPoint kTwoAngled[] = {{-.27f, -.27f}, {-.17f, -.44f}, {.05f, -.50f}, {.24f, -.35f},
                                   {.19f, -.08f},  {-.04f, .20f},  {-.30f, .46f}, {-.30f, .46f},
                                   {.00f, .44f},   {.33f, .47f}};
constexpr PenPoint kTwoLooped[] = {{-.26f, -.32f}, {-.12f, -.47f}, {.10f, -.48f}, {.23f, -.30f},
                                   {.15f, -.04f},  {-.05f, .24f},  {-.22f, .44f}, {-.34f, .40f},
                                   {-.27f, .27f},  {-.08f, .32f},  {.12f, .45f},  {.36f, .42f}};
constexpr PenStroke kTwo1[] = {kTwoAngled};
constexpr PenStroke kTwo2[] = {kTwoLooped};
constexpr DigitShape kTwo[] = {kTwo1, kTwo2};

constexpr PenPoint kThreeRound[] = {{-.25f, -.37f}, {-.06f, -.50f}, {.19f, -.41f}, {.18f, -.18f},
                                    {-.08f, -.04f}, {-.08f, -.04f}, {.18f, .05f},  {.27f, .25f},
                                    {.12f, .45f},   {-.12f, .49f},  {-.30f, .38f}};
constexpr PenPoint kThreeFlat[] = {{-.24f, -.47f}, {.00f, -.47f},  {.25f, -.48f},  {.25f, -.48f},
                                   {.10f, -.27f},  {-.04f, -.08f}, {-.04f, -.08f}, {.20f, .00f},
                                   {.27f, .22f},   {.12f, .45f},   {-.10f, .49f},  {-.28f, .41f}};
constexpr PenStroke kThree1[] = {kThreeRound};
constexpr PenStroke kThree2[] = {kThreeFlat};
constexpr DigitShape kThree[] = {kThree1, kThree1, kThree2};

constexpr PenPoint kFourOpenArm[] = {
    {-.22f, -.45f}, {-.28f, -.18f}, {-.26f, .02f}, {-.05f, .06f}, {.27f, .00f}};
constexpr PenPoint kFourOpenStem[] = {{.25f, -.48f}, {.21f, -.10f}, {.15f, .22f}, {.12f, .50f}};
constexpr PenPoint kFourClosedArm[] = {{.10f, -.50f}, {-.12f, -.18f}, {-.33f, .14f},
                                       {-.33f, .14f}, {.00f, .13f},   {.34f, .12f}};
constexpr PenPoint kFourClosedStem[] = {{.11f, -.49f}, {.11f, .00f}, {.09f, .50f}};
constexpr PenStroke kFour1[] = {kFourOpenArm, kFourOpenStem};
constexpr PenStroke kFour2[] = {kFourClosedArm, kFourClosedStem};
constexpr DigitShape kFour[] = {kFour1, kFour1, kFour2};

constexpr PenPoint kFiveBody[] = {{-.17f, -.46f}, {-.20f, -.28f}, {-.23f, -.08f}, {-.23f, -.08f},
                                  {.00f, -.14f},  {.23f, .00f},   {.25f, .25f},   {.07f, .46f},
                                  {-.14f, .48f},  {-.30f, .39f}};
constexpr PenPoint kFiveHat[] = {{-.17f, -.46f}, {.06f, -.46f}, {.30f, -.49f}};
constexpr PenPoint kFiveOneStroke[] = {{.28f, -.48f},  {.06f, -.44f},  {-.15f, -.42f}, {-.15f, -.42f},
                                       {-.20f, -.10f}, {-.20f, -.10f}, {.02f, -.11f},  {.20f, .06f},
                                       {.17f, .32f},   {-.04f, .47f},  {-.28f, .44f}};
constexpr PenStroke kFive1[] = {kFiveBody, kFiveHat};
constexpr PenStroke kFive2[] = {kFiveOneStroke};
constexpr DigitShape kFive[] = {kFive1, kFive2};

constexpr PenPoint kSixRound[] = {{.17f, -.49f}, {-.08f, -.30f}, {-.24f, .02f}, {-.25f, .30f}, {-.08f, .48f},
                                  {.15f, .43f},  {.25f, .23f},   {.12f, .05f},  {-.08f, .08f}, {-.22f, .27f}};
constexpr PenPoint kSixSteep[] = {{-.04f, -.50f}, {-.17f, -.22f}, {-.22f, .10f}, {-.18f, .37f},
                                  {-.01f, .49f},  {.18f, .38f},   {.18f, .17f},  {.02f, .08f},
                                  {-.13f, .20f},  {-.17f, .36f}};
constexpr PenStroke kSix1[] = {kSixRound};
constexpr PenStroke kSix2[] = {kSixSteep};
constexpr DigitShape kSix[] = {kSix1, kSix2};

constexpr PenPoint kSevenPlain[] = {{-.30f, -.43f}, {.00f, -.45f}, {.29f, -.48f}, {.29f, -.48f},
                                    {.15f, -.16f},  {.04f, .16f},  {-.03f, .50f}};
constexpr PenPoint kSevenHooked[] = {{-.29f, -.28f}, {-.28f, -.44f}, {-.28f, -.44f},
                                     {.00f, -.44f},  {.24f, -.46f},  {.24f, -.46f},
                                     {.16f, -.12f},  {.12f, .20f},   {.11f, .50f}};
constexpr PenPoint kSevenBar[] = {{-.12f, .03f}, {.06f, .01f}, {.25f, .00f}};
constexpr PenStroke kSeven1[] = {kSevenPlain};
constexpr PenStroke kSeven2[] = {kSevenHooked};
constexpr PenStroke kSeven3[] = {kSevenPlain, kSevenBar};
constexpr DigitShape kSeven[] = {kSeven1, kSeven1, kSeven2, kSeven3};

constexpr PenPoint kEightCrossed[] = {
    {.20f, -.36f}, {.03f, -.49f}, {-.18f, -.41f}, {-.18f, -.21f}, {.01f, -.04f}, {.20f, .16f}, {.19f, .39f},
    {.01f, .49f},  {-.20f, .41f}, {-.22f, .20f},  {-.04f, .01f},  {.15f, -.16f}, {.22f, -.35f}};
constexpr PenPoint kEightTop[] = {{.04f, -.04f}, {-.16f, -.13f}, {-.21f, -.33f}, {-.02f, -.49f},
                                  {.19f, -.38f}, {.18f, -.17f},  {.02f, -.04f}};
constexpr PenPoint kEightBottom[] = {{.00f, -.03f}, {-.20f, .10f}, {-.25f, .31f}, {-.06f, .49f},
                                     {.19f, .41f},  {.23f, .18f},  {.02f, -.03f}};
constexpr PenStroke kEight1[] = {kEightCrossed};
constexpr PenStroke kEight2[] = {kEightTop, kEightBottom};
constexpr DigitShape kEight[] = {kEight1, kEight1, kEight2};

constexpr PenPoint kNineStraight[] = {{.21f, -.35f},  {.05f, -.49f}, {-.18f, -.40f}, {-.25f, -.17f},
                                      {-.09f, -.03f}, {.11f, -.12f}, {.23f, -.38f},  {.23f, -.38f},
                                      {.19f, -.05f},  {.14f, .22f},  {.10f, .50f}};
constexpr PenPoint kNineCurved[] = {{.20f, -.32f},  {.03f, -.48f}, {-.19f, -.38f}, {-.23f, -.17f},
                                    {-.07f, -.02f}, {.13f, -.12f}, {.22f, -.33f},  {.25f, -.08f},
                                    {.22f, .20f},   {.08f, .44f},  {-.10f, .49f},  {-.24f, .40f}};
constexpr PenStroke kNine1[] = {kNineStraight};
constexpr PenStroke kNine2[] = {kNineCurved};
constexpr DigitShape kNine[] = {kNine1, kNine1, kNine2};

constexpr std::array<std::span<const DigitShape>, 10> kDigits = {kZero, kOne, kTwo,   kThree, kFour,
                                                                 kFive, kSix, kSeven, kEight, kNine};

}  // namespace

std::span<const DigitShape> digit_shapes(int digit) {
  assert(0 <= digit && digit < 10);
  return kDigits[digit];
}

}  // namespace filigree::internal
