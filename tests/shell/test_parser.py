"""The syntax tree: what the parser sees in a text, where it stands, and how it goes on after a fault."""

from __future__ import annotations

from grpo_guard.configs.shell.parser import Parser
from grpo_guard.configs.shell.syntax import AndOr, Case, Function, If, Literal, Parameter, Pipeline, Simple


def parse(text):
    parser = Parser(text, "run.sh")
    program = parser.program()
    return [node for node, _ in program.items], [(fault.line, fault.message) for fault in parser.faults]


def only(text):
    (node,), faults = parse(text)
    assert faults == []
    return node


def test_a_word_keeps_its_parts_with_their_lines():
    command = only("show a.b='x'$y\\\n\"${z:-1}\"")
    assert isinstance(command, Simple)
    literal, quoted, name, default = command.words[1].parts
    assert (literal, quoted) == (Literal("a.b=", False, 1), Literal("x", True, 1))
    assert (name.name, name.quoted, name.line) == ("y", False, 1)
    assert isinstance(default, Parameter)
    assert (default.name, default.op, default.argument.plain, default.quoted, default.line) == ("z", ":-", "1", True, 2)


def test_assignments_and_redirections_are_no_words():
    command = only('A=1 B+=x C[2]=y show z >out 2>&1 <<< "in"')
    assert [(item.name, item.append) for item in command.assignments] == [("A", False), ("B", True), ("C", False)]
    assert [word.plain for word in command.words] == ["show", "z"]
    assert [(item.fd, item.op, item.target.raw) for item in command.redirections] == [
        ("", ">", "out"),
        ("2", ">&", "1"),
        ("", "<<<", '"in"'),
    ]


def test_statements():
    nodes, faults = parse(
        "if a; then b; elif c; then d; else e; fi\n"
        "case $x in (a|b) c ;; *) d ;; esac\n"
        "f() { a; }\nfunction g { b; }\n"
        "a | b && c || d\n"
        "! a | b\n"
    )
    assert [type(node) for node in nodes] == [If, Case, Function, Function, AndOr, Pipeline]
    assert len(nodes[0].branches) == 2 and nodes[0].otherwise is not None
    assert [[word.raw for word in item.patterns] for item in nodes[1].items] == [["a", "b"], ["*"]]
    assert (nodes[2].name, nodes[3].name) == ("f", "g")
    assert [op for op, _ in nodes[4].rest] == ["&&", "||"]
    assert nodes[5].negated
    assert faults == []


def test_here_documents_end_at_their_word():
    first, second = parse("cat <<A <<'B'\n$x\nA\n$y\nB\nshow")[0]
    bodies = [redirection.target for redirection in first.redirections]
    assert [type(body.parts[0]) for body in bodies] == [Parameter, Literal]
    assert second.line == 6


def test_a_fault_costs_the_statement_it_stands_in():
    nodes, faults = parse("a\nb (c)\nd\n)\nif e; then\nf\n")
    assert [node.raw for node in nodes[:2]] == ["a", "d"]
    assert faults[0] == (2, "unexpected `(`: brackets in an argument have to be quoted")
    assert faults[-1] == (5, "`fi` is missing for the statement that starts in line 5")


def test_open_quotes_are_told_where_they_start():
    assert parse("a\nshow 'x\nb")[1] == [(2, "a single quote is never closed")]
    assert parse('a\n\nshow "x\nb')[1] == [(3, "a double quote is never closed")]
    assert parse("a ${x\nb")[1] == [(1, "`${` is never closed")]
