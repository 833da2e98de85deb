import { followUp, toolLoop, userMessage } from 'rivulet';
import type { Orchestrator } from 'rivulet';

/** The instruction of each phase, and whether the phase has tools. */
const phases = [
  {
    name: 'analysis',
    instruction: 'First analyse the question: which facts are needed to answer it? Do not answer yet.',
    tools: false,
  },
  { name: 'evidence', instruction: 'Now gather the evidence with your tools, and say what you found.', tools: true },
  {
    name: 'conclusion',
    instruction: 'Now conclude: answer the question in one sentence, from the evidence alone.',
    tools: false,
  },
];

/**
 * Three phases of one run: analysis, evidence, conclusion. The current phase is stored in `memo`, so that a stored run
 * continues where it was.
 */
export const research: Orchestrator = {
  name: 'research',
  turn(state, context) {
    const index = Number(state.memo?.['phase'] ?? 0);
    const phase = phases[index];
    const nextPhase = phases[index + 1];
    const system = [context.options.system, index === 0 ? phase?.instruction : undefined].filter(Boolean).join('\n');
    const options = { ...context.options, ...(system === '' ? {} : { system }) };
    return toolLoop.turn(state, { ...context, options, tools: phase?.tools ? context.tools : [] }).pipe(
      followUp(
        state,
        (turn, after) => {
          // While tools return results, the phase continues; after the last phase, the run ends.
          if (turn.next || !nextPhase) return turn.next ?? null;
          const instruction = userMessage(nextPhase.instruction);
          return { ...after, messages: [...after.messages, instruction], memo: { phase: index + 1 } };
        },
        context,
      ),
    );
  },
};
