import { followUp, toolLoop, userMessage } from 'rivulet';
import type { Orchestrator } from 'rivulet';

/** What the model is told in each phase. */
const phases = [
  {
    name: 'analysis',
    ask: 'First analyse the question: which facts are needed to answer it? Do not answer yet.',
    tools: false,
  },
  { name: 'evidence', ask: 'Now gather the evidence with your tools, and say what you found.', tools: true },
  {
    name: 'conclusion',
    ask: 'Now conclude: answer the question in one sentence, from the evidence alone.',
    tools: false,
  },
];

/** Three phases of one run: analysis, evidence, conclusion. Which one it is stands in `memo`, so that a stored run goes on where it was. */
export const research: Orchestrator = {
  name: 'research',
  turn(state, context) {
    const at = Number(state.memo?.['phase'] ?? 0);
    const phase = phases[at];
    const following = phases[at + 1];
    const system = [context.options.system, at === 0 ? phase?.ask : undefined].filter(Boolean).join('\n');
    const options = { ...context.options, ...(system === '' ? {} : { system }) };
    return toolLoop.turn(state, { ...context, options, tools: phase?.tools ? context.tools : [] }).pipe(
      followUp(
        state,
        (turn, after) => {
          if (turn.next || !following) return turn.next ?? null; // tools have answered: the phase goes on; or all is said
          return { ...after, messages: [...after.messages, userMessage(following.ask)], memo: { phase: at + 1 } };
        },
        context,
      ),
    );
  },
};
