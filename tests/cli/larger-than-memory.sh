# SPDX-License-Identifier: Apache-2.0
# As many rows as HIGGS has, 11 million, made of 51,233 real ones: the memory limit is kept and changes no bit.
higgs=${FILIGREE_DATA:-}/higgs/higgs-51k.csv.gz
if [ ! -f "$higgs" ] || [ -z "${FILIGREE_ALL:-}" ]; then
  echo "SKIPPED: this takes minutes and 4 GB of disk; it wants FILIGREE_ALL, and higgs/ in the directory FILIGREE_DATA"
  exit 77
fi
gzip -dc "$higgs" > "$work/part.csv"
for _ in $(seq 215); do cat "$work/part.csv"; done > "$work/higgs.csv"
# trained NAME LIMIT: trains for an epoch; the largest memory that the process had, in MiB, is printed.
trained() {
  TMPDIR=$work "$program" train --data "csv:$work/higgs.csv" --memory-limit "$2" --network 28-256-256-2 --sparsity 0.97 \
    --epochs 1 --batch 512 --test-share 0.01 --out "$work/$1" --json "$work/$1.json" -q 2> "$work/$1.err" &
  local process=$! most=0
  while kill -0 "$process" 2> /dev/null; do
    now=$(awk '/^VmHWM/ { print int($2 / 1024) }' "/proc/$process/status" 2> /dev/null)
    [ "${now:-0}" -le "$most" ] || most=$now
    sleep 0.1
  done
  wait "$process" || { echo "FAILED: $1"; cat "$work/$1.err"; failures=1; }
  echo "$most"
}
in_memory=$(trained memory 12GiB) on_disk=$(trained disk 1GiB)
seconds() { grep -oE '"seconds": [0-9.]+' "$work/$1.json" | head -n 1 | grep -oE '[0-9.]+'; }
echo "11,015,095 rows: $(seconds memory) s of training in $in_memory MiB of memory, $(seconds disk) s in $on_disk MiB"
check test "$on_disk" -le 1024
check cmp "$work/memory/model.safetensors" "$work/disk/model.safetensors"
grep -q "are kept in" "$work/disk.err" || { echo "FAILED: nothing says where the rows are"; failures=1; }
