"""Grids of processes. Main entry: `square_grid`."""


def square_grid(processes: int, dimensions: int = 2) -> tuple[int, ...]:
    """Return the grid of P processes whose longest side is shortest, the shortest side first.

    >>> square_grid(12), square_grid(64, 3), square_grid(7)
    ((3, 4), (4, 4, 4), (1, 7))
    """
    if dimensions == 1:
        return (processes,)
    best: tuple[int, ...] = ()
    for side in range(round(processes ** (1 / dimensions)) + 1, 0, -1):
        if processes % side == 0:
            shape = tuple(sorted((side, *square_grid(processes // side, dimensions - 1))))
            if not best or shape[-1] < best[-1] or (shape[-1] == best[-1] and shape > best):
                best = shape
            if dimensions == 2:
                break
    return best
