import pytest
import torch

torch.set_num_threads(1)  # beside other programs, threads of such small problems mostly wait


@pytest.fixture(autouse=True)
def same_numbers_each_time():
    torch.manual_seed(7)
