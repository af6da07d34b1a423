class Word(str):
    type, index = "cuda", 0


strided, float32 = Word("torch.strided"), Word("torch.float32")


class Tensor:
    device, layout, dtype, is_leaf, requires_grad, grad = Word("cuda:0"), strided, float32, True, True, None

    def numel(self):
        n = 1
        for size in self.shape:
            n *= size
        return n

    def element_size(self):
        return 4

    def data_ptr(self):
        return self.address
