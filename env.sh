export PATH=/work/wt/tester/build/release/bin:/usr/lib/llvm-19/bin:$PATH
export PYTHONPATH=/work/main/build/arrow:/work/tmp/t1
SI=/work/wt/tester/build/release/standin/ff-standin
