# grpo-guard-test: --version trl=1.9.0
trl grpo \
    --model_name_or_path Qwen/Qwen2.5-3B-Instruct \
    --output_dir out/grpo \
    --learning_rate 1e-6 \
    --num_generations 8 \
    --multi_objective_aggregation normalize_then_sum \
    --scale_rewards False
