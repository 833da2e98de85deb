import { concatMap, of } from 'rxjs';
import { askTool } from 'rivulet';
import * as z from 'zod';

const account = z.object({ account: z.enum(['house', 'shop']) });
const receipt = z.object({ email: z.email() });

/** Two questions around a payment, which is made once: the answers may come next week, in another process. */
export const pay = askTool({
  name: 'pay',
  description: 'Pays an invoice.',
  parameters: z.object({ invoice: z.string(), euros: z.number() }),
  execute: ({ invoice, euros }, { ask, once }) =>
    ask({ message: `From which account are ${euros} € for ${invoice} paid?`, schema: account }).pipe(
      concatMap((from) => once('payment', (idempotencyKey) => transfer(from.account, euros, idempotencyKey))),
      concatMap((paid) =>
        ask({ message: `${paid} Where is the receipt sent?`, schema: receipt }).pipe(
          concatMap(({ email }) => once('receipt', () => `${paid} The receipt was sent to ${email}.`)),
        ),
      ),
    ),
});

const transfer = (from: string, euros: number, key: string) =>
  of(`${euros} € were paid from ${from} (${key.slice(-8)}).`);
