/**
 * How long a stream may stay open after the answer's terminal mark, in milliseconds. It mostly ends with the next read, and one read to its end
 * leaves the connection for the next request, where an aborted one is closed, and lets the streams that it passes through finish their work; but
 * some never end.
 */
export const linger = 1_000;
