"""Derivations with a numeric check that runs when it is asked for: one module per proof, named like its text in
knowledge/proofs/ (`kl-estimators.md` is `kl_estimators.py`), each with a function `check() -> list[Case]`.

Formulas are plain functions of their module, so that a test can break one and see the check fail.
"""
