"""Runs one kernel through the driver's C entry points, as any program would: by the libraries' names."""

import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")
nccl = ctypes.CDLL("libnccl.so.2")
blas = ctypes.CDLL("libcublasLt.so.12")

PTX = b""".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p)
{
.reg .b64 %x;
ld.param.u64 %x, [p];
// the error below names this file's line 10

st.global.u32 [%x], 42;
ret;
}
"""


def check(result):
    if result:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(result, ctypes.byref(name))
        print(name.value.decode(), flush=True)


check(cuda.cuInit(0))
count, major, minor, version = (ctypes.c_int() for _ in range(4))
cuda.cuDeviceGetCount(ctypes.byref(count))
name = ctypes.create_string_buffer(64)
cuda.cuDeviceGetName(name, 64, 0)
cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
print(f"{count.value} devices named {name.value.decode()}, {major.value}.{minor.value}")
nccl.ncclGetVersion(ctypes.byref(version))
blas.cublasLtGetVersion.restype = ctypes.c_size_t
print(f"NCCL {version.value}, cuBLASLt {blas.cublasLtGetVersion()}", flush=True)

context, module, function = (ctypes.c_void_p() for _ in range(3))
check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
check(cuda.cuModuleLoadData(ctypes.byref(module), PTX))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
memory = ctypes.c_uint64()
check(cuda.cuMemAlloc_v2(ctypes.byref(memory), 4))


def launch(pointer):
    params = (ctypes.c_void_p * 1)(ctypes.cast(ctypes.byref(pointer), ctypes.c_void_p))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, None, params, None))
    check(cuda.cuCtxSynchronize())


launch(memory)
value = ctypes.c_uint32()
check(cuda.cuMemcpyDtoH_v2(ctypes.byref(value), memory, 4))
print(f"kernel wrote {value.value}", flush=True)
launch(ctypes.c_uint64(8))
sys.exit(0)
