import { concatMap, map, of } from 'rxjs';
import * as z from 'zod';
import { askTool, tool } from '../../lib/index.js';

const order = z.object({
  dish: z.enum(['soup', 'cake']).describe('What to eat'),
  count: z.number().max(9),
  spicy: z.boolean().optional(),
  notes: z.string().default('none'),
});

/** The tools of a chat in a terminal (`--tools`): one asks two questions, and one needs an approval. */
export default [
  askTool({
    name: 'order',
    description: 'Orders a meal.',
    execute: (_, { ask }) =>
      ask({ message: 'What do you want?', schema: order }).pipe(
        concatMap((meal) =>
          ask({ message: 'Pay?', schema: z.object({}), details: { price: 5 } }).pipe(map(() => JSON.stringify(meal))),
        ),
      ),
  }),
  tool({ name: 'send', description: 'Sends a mail.', needsApproval: true, execute: () => of('sent') }),
];
