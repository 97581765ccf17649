"""The look-ups: symptoms, playbooks, fixes, matrix, explanations, skills and notes, from compiled knowledge."""
