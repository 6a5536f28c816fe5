"""nine.torch.patch beside transformers' own loss."""

import copy
import inspect
import json

import pytest
import torch

import nine
import nine.torch

transformers = pytest.importorskip("transformers")


def gpt2(**more):
    config = transformers.GPT2Config(
        vocab_size=50, n_positions=16, n_embd=8, n_layer=1, n_head=2, resid_pdrop=0.0,
        embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=0, eos_token_id=0, **more,
    )  # fmt: skip
    torch.manual_seed(3)
    return transformers.GPT2LMHeadModel(config)


def batch():
    ids = torch.randint(50, (3, 7), generator=torch.Generator().manual_seed(1))
    labels = ids.clone()
    labels[0, 3:] = -100
    return ids, labels


@pytest.mark.parametrize("extra", [{}, {"num_items_in_batch": torch.tensor(9)}])
def test_lin_has_the_loss_and_gradients_of_transformers(extra):
    plain = gpt2()
    patched = nine.torch.patch(copy.deepcopy(plain))
    ids, labels = batch()
    for model in (plain, patched):
        model(ids, labels=labels, **extra).loss.backward()
    expected, found = (model(ids, labels=labels, **extra) for model in (plain, patched))
    torch.testing.assert_close(found.loss, expected.loss)
    assert found.logits is None
    for (name, a), (other, b) in zip(plain.named_parameters(), patched.named_parameters()):
        assert name == other
        torch.testing.assert_close(b.grad, a.grad, rtol=1e-4, atol=1e-6)
    assert patched.lm_head.weight is patched.transformer.wte.weight
    loss, logits = patched(ids, labels=labels, return_dict=False)[:2]
    assert logits is None and loss.shape == ()


def test_log_probabilities_and_generation():
    plain = gpt2().eval()
    patched = nine.torch.patch(copy.deepcopy(plain))
    ids, _ = batch()
    with torch.no_grad():
        expected = plain(ids).logits.log_softmax(-1)
    torch.testing.assert_close(patched(ids).logits, expected, rtol=1e-4, atol=1e-5)
    settings = {"max_new_tokens": 5, "do_sample": False, "pad_token_id": 0}
    assert torch.equal(plain.generate(ids, **settings), patched.generate(ids, **settings))


@pytest.mark.parametrize("head", ["log", "mix:2*lin,log:p=learn:2"])
def test_other_heads_train(head):
    model = nine.torch.patch(gpt2(), head, label_smoothing=0.1)
    names = [name for name, _ in model.named_parameters()]
    if head != "log":
        assert {"lm_head.prior.weight", "lm_head.latent.weight", "lm_head.scores.2.p"} <= set(names)
    ids, labels = batch()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(30):
        loss = model(ids, labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.7 * losses[0]
    model.eval()
    with torch.no_grad():
        log_p = model(ids).logits
        torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(3, 7))
        rows = -log_p[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
        torch.testing.assert_close(
            model(ids, labels=labels).loss, rows[labels[:, 1:] != -100].mean()
        )


def test_what_transformers_asks_of_a_model(tmp_path):
    model = nine.torch.patch(gpt2(), "mix:lin,log").eval()
    assert "labels" in inspect.signature(model.forward).parameters
    assert isinstance(model, transformers.GPT2LMHeadModel)
    model.save_pretrained(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["nine_head"] == "mix:lin,log"
    again = nine.torch.patch(transformers.GPT2LMHeadModel(model.config), "mix:lin,log").eval()
    again.load_state_dict(model.state_dict())
    ids, labels = batch()
    assert torch.equal(again(ids, labels=labels).loss, model(ids, labels=labels).loss)
    assert torch.equal(copy.deepcopy(model)(ids).logits, model(ids).logits)


def test_a_llama():
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=8, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, max_position_embeddings=16, tie_word_embeddings=False,
    )  # fmt: skip
    plain = transformers.LlamaForCausalLM(config)
    ids, labels = batch()
    expected = plain(ids, labels=labels).loss
    patched = nine.torch.patch(plain)
    torch.testing.assert_close(patched(ids, labels=labels).loss, expected)


def test_patch_refuses():
    config = transformers.T5Config(
        vocab_size=50, d_model=8, d_kv=4, d_ff=16, num_layers=1, num_heads=2
    )
    with pytest.raises((TypeError, ValueError), match="no causal language model|in another way"):
        t5 = nine.torch.patch(transformers.T5ForConditionalGeneration(config))
        t5(batch()[0], labels=batch()[0])
    with pytest.raises(TypeError, match="Linear is no causal language model"):
        nine.torch.patch(torch.nn.Linear(3, 3))
    with pytest.raises(nine.UsageError, match="lug"):
        nine.torch.patch(gpt2(), "lug")
    model = nine.torch.patch(gpt2())
    with pytest.raises(TypeError, match="no causal"):
        nine.torch.patch(model)
    with pytest.raises(ValueError, match="pass labels="):
        model.train()(batch()[0])
    config = transformers.Gemma2Config(
        vocab_size=50, hidden_size=8, intermediate_size=16, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=4, max_position_embeddings=16,
        final_logit_softcapping=30.0, pad_token_id=0, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    capped = nine.torch.patch(transformers.Gemma2ForCausalLM(config))
    with pytest.raises(ValueError, match="changes its logits before the loss"):
        capped(batch()[0], labels=batch()[1])


def test_tied_words_that_are_resized():
    model = nine.torch.patch(gpt2(), "log").eval()
    model.resize_token_embeddings(53, mean_resizing=False)
    ids, labels = batch()
    assert model(ids).logits.shape == (3, 7, 53)
    assert model(ids, labels=labels).loss.isfinite()
