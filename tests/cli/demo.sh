# SPDX-License-Identifier: Apache-2.0
run 0 demo; says out "the same from both engines"; says out "on rows never trained on"
