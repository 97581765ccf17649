"""How OpenRLHF deals the samples of a rollout out to its ranks (launcher.async_run_method_batch), case by case."""

from grpo_guard.checks.openrlhf_batch import _sizes_of_ranks


def dealt_out(samples: int, split: int, ranks: int) -> set[int]:
    """Batches of `split` samples, in chunks of equal length from the front; what is left is for the last ranks."""
    batches = [min(split, samples - start) for start in range(0, samples, split)]
    chunk = -(-len(batches) // ranks)
    return {sum(batches[rank * chunk : (rank + 1) * chunk]) for rank in range(ranks)}


def test_sizes_are_those_of_dealing_out() -> None:
    for samples in range(1, 50):
        for split in range(1, 9):
            for ranks in range(1, 12):
                assert _sizes_of_ranks(samples, split, ranks) == dealt_out(samples, split, ranks), (
                    samples,
                    split,
                    ranks,
                )


def test_any_number_of_ranks_takes_no_time() -> None:
    assert _sizes_of_ranks(100, 10, 10**30) == {10, 0}
