; Kernels as LLVM's NVPTX back end compiles them; the build runs llc-19 -march=nvptx64 -mcpu=sm_90 -mattr=+ptx80.
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()
declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)
declare float @llvm.nvvm.ex2.approx.f(float)
declare float @llvm.maxnum.f32(float, float)
declare float @llvm.fma.f32(float, float, float)
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)

@tile = internal addrspace(3) global [32 x [33 x float]] undef, align 4
@parts = internal addrspace(3) global [32 x float] undef, align 4
@scale = addrspace(4) constant [4 x float] [float 1.0, float 2.0, float 4.0, float 8.0], align 16
@table = addrspace(1) global [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 4

define i32 @index() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %b, %n
  %i = add i32 %m, %t
  ret i32 %i
}

define void @add(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c, i32 %n) {
  %i = call i32 @index()
  %in = icmp ult i32 %i, %n
  br i1 %in, label %do, label %end
do:
  %pa = getelementptr float, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr float, ptr addrspace(1) %b, i32 %i
  %pc = getelementptr float, ptr addrspace(1) %c, i32 %i
  %x = load float, ptr addrspace(1) %pa
  %y = load float, ptr addrspace(1) %pb
  %k = and i32 %i, 3
  %ps = getelementptr [4 x float], ptr addrspace(4) @scale, i32 0, i32 %k
  %s = load float, ptr addrspace(4) %ps
  %r = call float @llvm.fma.f32(float %y, float %s, float %x)
  store float %r, ptr addrspace(1) %pc
  br label %end
end:
  ret void
}

define float @warpSum(float %v0) noinline {
  %s0 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v0, i32 16, i32 31)
  %v1 = fadd float %v0, %s0
  %s1 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v1, i32 8, i32 31)
  %v2 = fadd float %v1, %s1
  %s2 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v2, i32 4, i32 31)
  %v3 = fadd float %v2, %s2
  %s3 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v3, i32 2, i32 31)
  %v4 = fadd float %v3, %s3
  %s4 = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %v4, i32 1, i32 31)
  %v5 = fadd float %v4, %s4
  ret float %v5
}

; The sum of one block of 1024 elements into out, atomically.
define void @blockSum(ptr addrspace(1) %x, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = call i32 @index()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  %w = call float @warpSum(float %v)
  %warp = lshr i32 %t, 5
  %lane = and i32 %t, 31
  %first = icmp eq i32 %lane, 0
  br i1 %first, label %put, label %wait
put:
  %q = getelementptr [32 x float], ptr addrspace(3) @parts, i32 0, i32 %warp
  store float %w, ptr addrspace(3) %q
  br label %wait
wait:
  call void @llvm.nvvm.barrier0()
  %isFirst = icmp ult i32 %t, 32
  br i1 %isFirst, label %last, label %end
last:
  %r = getelementptr [32 x float], ptr addrspace(3) @parts, i32 0, i32 %t
  %u = load float, ptr addrspace(3) %r
  %s = call float @warpSum(float %u)
  %zero = icmp eq i32 %t, 0
  br i1 %zero, label %store, label %end
store:
  %old = atomicrmw fadd ptr addrspace(1) %out, float %s monotonic
  br label %end
end:
  ret void
}

; exp2 of a row of 32 minus its maximum, over its sum: a warp a row.
define void @softmax(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %i = call i32 @index()
  %p = getelementptr float, ptr addrspace(1) %x, i32 %i
  %v = load float, ptr addrspace(1) %p
  br label %loop
loop:
  %d = phi i32 [ 16, %0 ], [ %half, %loop ]
  %m = phi float [ %v, %0 ], [ %max, %loop ]
  %o = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 -1, float %m, i32 %d, i32 31)
  %max = call float @llvm.maxnum.f32(float %m, float %o)
  %half = lshr i32 %d, 1
  %more = icmp ne i32 %half, 0
  br i1 %more, label %loop, label %done
done:
  %c = fsub float %v, %max
  %e = call float @llvm.nvvm.ex2.approx.f(float %c)
  %s = call float @warpSum(float %e)
  %r = fdiv float %e, %s
  %q = getelementptr float, ptr addrspace(1) %y, i32 %i
  store float %r, ptr addrspace(1) %q
  ret void
}

; y = x transposed, one tile of 32x32 by 1024 threads.
define void @transpose(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %row = lshr i32 %t, 5
  %col = and i32 %t, 31
  %p = getelementptr float, ptr addrspace(1) %x, i32 %t
  %v = load float, ptr addrspace(1) %p
  %q = getelementptr [32 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 %row, i32 %col
  store float %v, ptr addrspace(3) %q
  call void @llvm.nvvm.barrier0()
  %r = getelementptr [32 x [33 x float]], ptr addrspace(3) @tile, i32 0, i32 %col, i32 %row
  %u = load float, ptr addrspace(3) %r
  %s = getelementptr float, ptr addrspace(1) %y, i32 %t
  store float %u, ptr addrspace(1) %s
  ret void
}

; A jump table, a local array that is indexed, integers of 16 bits, doubles, halves, an atomic maximum.
define void @mixed(ptr addrspace(1) %out, i32 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = alloca [8 x i32], align 4
  br label %fill
fill:
  %k = phi i32 [ 0, %0 ], [ %k1, %fill ]
  %sq = mul i32 %k, %k
  %pk = getelementptr [8 x i32], ptr %a, i32 0, i32 %k
  store i32 %sq, ptr %pk
  %k1 = add i32 %k, 1
  %more = icmp ult i32 %k1, %n
  br i1 %more, label %fill, label %choose
choose:
  %c = and i32 %t, 7
  switch i32 %c, label %other [ i32 0, label %c0
    i32 1, label %c1
    i32 2, label %c2
    i32 3, label %c3
    i32 4, label %c4 ]
c0:
  br label %join
c1:
  %g1 = getelementptr [4 x i32], ptr addrspace(1) @table, i32 0, i32 %c
  %l1 = load i32, ptr addrspace(1) %g1
  br label %join
c2:
  %f2 = sitofp i32 %t to double
  %d2 = fmul double %f2, 1.5
  %i2 = fptosi double %d2 to i32
  br label %join
c3:
  %h3 = sitofp i32 %t to half
  %m3 = fmul half %h3, 2.0
  %i3 = fptosi half %m3 to i32
  br label %join
c4:
  %s4 = trunc i32 %t to i16
  %w4 = sdiv i16 %s4, 3
  %i4 = sext i16 %w4 to i32
  br label %join
other:
  %po = getelementptr [8 x i32], ptr %a, i32 0, i32 %c
  %lo = load i32, ptr %po
  br label %join
join:
  %v = phi i32 [ 7, %c0 ], [ %l1, %c1 ], [ %i2, %c2 ], [ %i3, %c3 ], [ %i4, %c4 ], [ %lo, %other ]
  %q = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %v, ptr addrspace(1) %q
  %top = getelementptr i32, ptr addrspace(1) %out, i32 64
  %old = atomicrmw max ptr addrspace(1) %top, i32 %v monotonic
  ret void
}

; D = A B of 16x8x16, f16, one warp; fragments are loaded as the layout says.
define void @mma(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %d) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %g = lshr i32 %t, 2
  %q = and i32 %t, 3
  %c = shl i32 %q, 1
  %r0 = shl i32 %g, 4
  %i0 = add i32 %r0, %c
  %i1 = add i32 %i0, 128
  %i2 = add i32 %i0, 8
  %i3 = add i32 %i0, 136
  %p0 = getelementptr half, ptr addrspace(1) %a, i32 %i0
  %p1 = getelementptr half, ptr addrspace(1) %a, i32 %i1
  %p2 = getelementptr half, ptr addrspace(1) %a, i32 %i2
  %p3 = getelementptr half, ptr addrspace(1) %a, i32 %i3
  %a0 = load <2 x half>, ptr addrspace(1) %p0
  %a1 = load <2 x half>, ptr addrspace(1) %p1
  %a2 = load <2 x half>, ptr addrspace(1) %p2
  %a3 = load <2 x half>, ptr addrspace(1) %p3
  %s0 = getelementptr half, ptr addrspace(1) %b, i32 %i0
  %s1 = getelementptr half, ptr addrspace(1) %b, i32 %i2
  %b0 = load <2 x half>, ptr addrspace(1) %s0
  %b1 = load <2 x half>, ptr addrspace(1) %s1
  %m = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %a0, <2 x half> %a1, <2 x half> %a2, <2 x half> %a3, <2 x half> %b0, <2 x half> %b1, float 1.0, float 0.0, float 0.0, float 0.0)
  %d0 = extractvalue { float, float, float, float } %m, 0
  %d1 = extractvalue { float, float, float, float } %m, 1
  %d2 = extractvalue { float, float, float, float } %m, 2
  %d3 = extractvalue { float, float, float, float } %m, 3
  %o0 = shl i32 %g, 3
  %o1 = add i32 %o0, %c
  %o2 = add i32 %o1, 64
  %z0 = getelementptr float, ptr addrspace(1) %d, i32 %o1
  %z2 = getelementptr float, ptr addrspace(1) %d, i32 %o2
  %v0 = insertelement <2 x float> undef, float %d0, i32 0
  %v1 = insertelement <2 x float> %v0, float %d1, i32 1
  %v2 = insertelement <2 x float> undef, float %d2, i32 0
  %v3 = insertelement <2 x float> %v2, float %d3, i32 1
  store <2 x float> %v1, ptr addrspace(1) %z0, align 8
  store <2 x float> %v3, ptr addrspace(1) %z2, align 8
  ret void
}

!nvvm.annotations = !{!0, !1, !2, !3, !4, !5}
!0 = !{ptr @add, !"kernel", i32 1}
!1 = !{ptr @blockSum, !"kernel", i32 1}
!2 = !{ptr @softmax, !"kernel", i32 1}
!3 = !{ptr @transpose, !"kernel", i32 1}
!4 = !{ptr @mixed, !"kernel", i32 1}
!5 = !{ptr @mma, !"kernel", i32 1}
