"""What is shown of a model, a run, all models, a profile: the source of page, report and command line."""
