"""Tuning on validation: each kernel's ladders are climbed past their ends until the best step is an inner one, or three steps in a row gain
less than 0.1% each; then the learning rate is, with the best head. What to train next follows from the records alone."""
from . import parts, records


def figure(run, folder=None):
    record = records.find(run, folder)
    return record.valid_ppl(run.epochs) if record else None


def climb(values, factor, figure_of):
    """(best value, None), or (best value so far or None, value to train next) of one ladder, low to high; figure_of(value) is None if untrained."""
    values = list(values)
    for v in values:
        if figure_of(v) is None:
            known = [x for x in values if figure_of(x) is not None]
            return (min(known, key=figure_of) if known else None), v
    while factor:
        best = min(values, key=figure_of)
        if best not in (values[0], values[-1]):
            break
        up = best == values[-1]
        along = [figure_of(v) for v in (values if up else values[::-1])]
        if len(along) > 3 and all(before / after - 1 < 0.001 for before, after in zip(along[-4:], along[-3:])):
            break
        step = float(f"{(best * factor if up else best / factor):.4g}")
        if figure_of(step) is None:
            return best, step
        values = values + [step] if up else [step] + values
    return min(values, key=figure_of), None


def state(kernel, folder=None):
    """(head, rate, run to train next or None) of a kernel; the head is None until anything of it is known."""
    def of(head, rate=parts.RATE):
        return figure(parts.search_run(head, rate), folder)

    heads, waiting = [], None
    for template, values, factor in parts.LADDERS[kernel] or ((kernel, (), 0),):
        if factor:
            best, step = climb(values, factor, lambda v: of(template.format(f"{v:g}")))
            head = None if best is None else template.format(f"{best:g}")
            pending = None if step is None else template.format(f"{step:g}")
        else:
            head = template if of(template) is not None else None
            pending = None if head else template
        heads += [head] if head else []
        waiting = waiting or (pending and parts.search_run(pending, parts.RATE))
    if not heads:
        return None, parts.RATE, waiting
    head = min(heads, key=of)
    if waiting:
        return head, parts.RATE, waiting
    rate, step = climb((parts.RATE / 2, parts.RATE, parts.RATE * 2), 2, lambda r: of(head, r))
    return head, rate, step and parts.search_run(head, step)


def best(kernel, folder=None):
    """(head, rate) that the search chose; until it is done those of the older records, or the first of the ladder."""
    head, rate, pending = state(kernel, folder)
    if not pending:
        return head, rate
    return parts.BEFORE.get(kernel, kernel), parts.RATE


def unfinished(folder=None):
    return [kernel for kernel in parts.LADDERS if state(kernel, folder)[2]]


def searched(kernel, folder=None):
    """Every run of a kernel's search that has a record, (label, figure), in the order of the ladders, then of the rates."""
    found = {}

    def note(head, rate):
        run = parts.search_run(head, rate)
        f = figure(run, folder)
        if f is not None:
            found[run.row.label] = f
        return f

    def visit(head_of, values, factor, rate_of):
        climb(values, factor, lambda v: note(head_of(v), rate_of(v)))

    for template, values, factor in parts.LADDERS[kernel] or ((kernel, (), 0),):
        if factor:
            visit(lambda v: template.format(f"{v:g}"), values, factor, lambda v: parts.RATE)
            for v in values:
                note(template.format(f"{v:g}"), parts.RATE)
        else:
            note(template, parts.RATE)
    head = state(kernel, folder)[0]
    for power in range(-6, 7):
        note(head, parts.RATE * 2 ** power)
    return list(found.items())
