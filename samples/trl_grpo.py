"""trl_grpo.py FOLDER - a training with TRL that is small enough for its recording to lie beside this file: GRPO with a reference
model and a reward function of its own, three steps. FOLDER is for what it writes."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/frameworks"))
import tiny  # first: no hub

from trl import GRPOConfig, GRPOTrainer

SMALL = dict(vocab_size=2000, hidden_size=64, intermediate_size=160, num_hidden_layers=2, num_attention_heads=2,
             num_key_value_heads=1)


def many_words(completions, **more):
    """The reward: how many different words there are."""
    return [float(len(set(completion.split()))) for completion in completions]


def main():
    folder = sys.argv[1]
    arguments = GRPOConfig(output_dir=os.path.join(folder, "out"), use_cpu=True, report_to="none", save_strategy="no", max_steps=3,
                           learning_rate=1e-4, disable_tqdm=True, per_device_train_batch_size=2, num_generations=2,
                           max_completion_length=4, beta=0.04, temperature=1.0)
    GRPOTrainer(tiny.saved(folder, **SMALL), many_words, args=arguments, train_dataset=tiny.texts(16, ["prompt"], 6),
                processing_class=tiny.tokenizer()).train()


main()
