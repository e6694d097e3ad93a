// Prints the sizes, offsets and constants that ../uapi_test.go checks:
//   cc -o abi abi.c && ./abi > c_abi.golden
// Needs kernel headers 5.19 or later.
#include <linux/io_uring.h>
#include <linux/nvme_ioctl.h>
#include <stdio.h>
#include <stddef.h>
#define O(t,m) printf("%s.%s %zu\n",#t,#m,offsetof(struct t,m));
int main(){
  printf("sizeof.io_uring_sqe %zu\nsizeof.io_uring_cqe %zu\nsizeof.io_uring_params %zu\nsizeof.nvme_uring_cmd %zu\nsizeof.nvme_passthru_cmd %zu\nsizeof.nvme_passthru_cmd64 %zu\nsizeof.io_uring_rsrc_update %zu\n",sizeof(struct io_uring_sqe),sizeof(struct io_uring_cqe),sizeof(struct io_uring_params),sizeof(struct nvme_uring_cmd),sizeof(struct nvme_passthru_cmd),sizeof(struct nvme_passthru_cmd64),sizeof(struct io_uring_rsrc_update));
  O(io_uring_sqe,opcode)O(io_uring_sqe,flags)O(io_uring_sqe,ioprio)O(io_uring_sqe,fd)O(io_uring_sqe,off)O(io_uring_sqe,addr)O(io_uring_sqe,len)O(io_uring_sqe,rw_flags)O(io_uring_sqe,user_data)O(io_uring_sqe,buf_index)O(io_uring_sqe,personality)O(io_uring_sqe,file_index)O(io_uring_sqe,addr3)
  O(io_uring_cqe,user_data)O(io_uring_cqe,res)O(io_uring_cqe,flags)
  O(io_uring_params,flags)O(io_uring_params,features)O(io_uring_params,sq_off)O(io_uring_params,cq_off)
  O(io_sqring_offsets,array)O(io_cqring_offsets,cqes)
  O(nvme_uring_cmd,nsid)O(nvme_uring_cmd,cdw2)O(nvme_uring_cmd,metadata)O(nvme_uring_cmd,addr)O(nvme_uring_cmd,metadata_len)O(nvme_uring_cmd,data_len)O(nvme_uring_cmd,cdw10)O(nvme_uring_cmd,cdw15)O(nvme_uring_cmd,timeout_ms)
  O(nvme_passthru_cmd64,result)O(nvme_passthru_cmd,result)
  printf("NVME_IOCTL_ID %u\nNVME_IOCTL_ADMIN_CMD %u\nNVME_IOCTL_IO_CMD %u\nNVME_IOCTL_ADMIN64_CMD %u\nNVME_IOCTL_IO64_CMD %u\nNVME_URING_CMD_IO %u\nNVME_URING_CMD_IO_VEC %u\nNVME_URING_CMD_ADMIN %u\nNVME_URING_CMD_ADMIN_VEC %u\n",(unsigned)NVME_IOCTL_ID,(unsigned)NVME_IOCTL_ADMIN_CMD,(unsigned)NVME_IOCTL_IO_CMD,(unsigned)NVME_IOCTL_ADMIN64_CMD,(unsigned)NVME_IOCTL_IO64_CMD,(unsigned)NVME_URING_CMD_IO,(unsigned)NVME_URING_CMD_IO_VEC,(unsigned)NVME_URING_CMD_ADMIN,(unsigned)NVME_URING_CMD_ADMIN_VEC);
  printf("IORING_OP_URING_CMD %d\nIORING_OP_READ_FIXED %d\nIORING_OP_WRITE_FIXED %d\nIORING_OP_READ %d\nIORING_OP_WRITE %d\nIORING_OFF_SQES %lld\n",IORING_OP_URING_CMD,IORING_OP_READ_FIXED,IORING_OP_WRITE_FIXED,IORING_OP_READ,IORING_OP_WRITE,(long long)IORING_OFF_SQES);
}
