import { operatorContract } from '../../lib/testing/operatorContract.js';

/**
 * The operator contract for an operator that is composed of RxJS's: those subscribe their source for a closed
 * subscriber, too.
 */
export const composedContract: typeof operatorContract = (operator, options) =>
  operatorContract(operator, options).filter(({ title }) => !title.startsWith('subscribes nothing'));
