/** The client that sends a request. */
export interface Client<C> {
  readonly context: C;
  readonly owner: string;
}
