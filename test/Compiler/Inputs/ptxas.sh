#!/bin/sh
# Stands for ptxas: ptxas.sh -v -arch=X -o OUT IN.  Reports a spill where a line of
# the PTX matches $SPILLS.
spill=0
[ -n "$SPILLS" ] && grep -q "$SPILLS" "$5" && spill=24
echo "ptxas info    : Compiling entry function 'encode' for 'sm_90a'"
echo "ptxas info    : Function properties for encode"
echo "    8 bytes stack frame, $spill bytes spill stores, $spill bytes spill loads" | sed "/ 0 bytes spill s/s/8 bytes stack/0 bytes stack/"
echo "ptxas info    : Used 128 registers, used 1 barriers"
echo cubin > "$4"
