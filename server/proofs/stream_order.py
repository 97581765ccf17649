"""Order, lifetime and unmapping on GPU streams, as a model of which orders of events are possible.

Operations of one stream keep their order; between streams only waits order anything. All orders that remain are gone
through, and those are counted in which something is read too early, overwritten or unmapped while in use.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .case import Case, same

Order = tuple[str, ...]
Before = tuple[tuple[str, str], ...]  # pairs: the first happens before the second

PRODUCERS: Before = (("write a", "finish a"), ("write b", "finish b"))
OWNER: Before = (("allocate", "free"), ("free", "reuse"), ("allocate", "copy"))
KERNELS: Before = (("kernel 1", "kernel 2"),)


def check() -> list[Case]:
    """[faulty orders, possible orders] for each fault, without and with each remedy."""
    on_one, on_both = (("finish a", "read"),), (("finish a", "read"), ("finish b", "read"))
    owner_waits = (("copy", "free"),)
    producers = ("write a", "finish a", "write b", "finish b", "read")
    memory, mapped = ("allocate", "copy", "free", "reuse"), ("kernel 1", "kernel 2", "unmap")
    return [
        same("order, two producers, no wait", [24, 30], faulty(producers, PRODUCERS, early_read)),
        same("order, wait for one of them", [4, 10], faulty(producers, PRODUCERS + on_one, early_read)),
        same("order, wait for both", [0, 6], faulty(producers, PRODUCERS + on_both, early_read)),
        same(
            "order, record_stream in place of the waits",
            [24, 30],
            faulty(producers, PRODUCERS + recorded("side"), early_read),
        ),
        same("lifetime, copy on a side stream, nothing recorded", [1, 3], faulty(memory, OWNER, overwritten)),
        same(
            "lifetime, the side stream waits for the owner only",
            [1, 3],
            faulty(memory, (*OWNER, ("allocate", "copy")), overwritten),
        ),
        same(
            "lifetime, record_stream(allocating stream)", [1, 3], faulty(memory, OWNER + recorded("owner"), overwritten)
        ),
        same("lifetime, record_stream(side stream)", [0, 2], faulty(memory, OWNER + recorded("side"), overwritten)),
        same(
            "lifetime, the owner waits for the copy before it frees",
            [0, 1],
            faulty(memory, OWNER + owner_waits, overwritten),
        ),
        same("unmap from the host, no synchronisation", [2, 3], faulty(mapped, KERNELS, unmapped)),
        same(
            "unmap after the device was synchronised",
            [0, 1],
            faulty(mapped, (*KERNELS, ("kernel 2", "unmap")), unmapped),
        ),
    ]


def orders(events: Sequence[str], before: Before) -> Iterator[Order]:
    """Every order of the events that keeps the pairs."""
    if not events:
        yield ()
    for event in events:
        if not any(later == event and earlier in events for earlier, later in before):
            rest = [other for other in events if other != event]
            yield from ((event, *tail) for tail in orders(rest, before))


def faulty(events: Sequence[str], before: Before, fault: Callable[[Order], bool]) -> list[int]:
    found = list(orders(events, before))
    return [sum(map(fault, found)), len(found)]


def early_read(order: Order) -> bool:
    return order.index("read") < max(order.index("finish a"), order.index("finish b"))


def overwritten(order: Order) -> bool:
    return order.index("reuse") < order.index("copy")


def unmapped(order: Order) -> bool:
    return order.index("unmap") < order.index("kernel 2")


def recorded(stream: str) -> Before:
    """What record_stream adds: the allocator hands the block out again after that stream's work; its own it knows."""
    return (("copy", "reuse"),) if stream == "side" else ()
