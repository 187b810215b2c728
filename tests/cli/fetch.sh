# SPDX-License-Identifier: Apache-2.0
export no_proxy=127.0.0.1
nobody=http://127.0.0.1:1/
run 2 fetch; says err name
run 2 fetch cifar; says err mnist
run 1 fetch mnist --out "$work/m" --mirror $nobody; says err "${nobody}train-images-idx3-ubyte.gz"
check test -z "$(ls "$work/m")"
run 1 fetch mnist --out "$work/m" --mirror "file://$work"; says err "http://"
echo other > "$work/m/train-images-idx3-ubyte"
run 1 fetch mnist --out "$work/m" --mirror $nobody; says err "move it away"; says err 6bbc9ace898e44ae57da46a324031adb
check grep -q other "$work/m/train-images-idx3-ubyte"
run 1 fetch mnist --out "$work/m/train-images-idx3-ubyte/below" --mirror $nobody; says err below
# What is there already needs no network.
fashion=/usr/share/datasets/fashion-mnist
if [ -d $fashion ]; then
  run 0 fetch fashion --out $fashion --mirror $nobody --json "$work/f.json"
  says out "already there"; says out "fashion:$fashion"
  check test "$(grep -c '"already_there": true' "$work/f.json")" -eq 4
fi
