/*
 * The scripts of `redisLog`, in Lua. Redis executes each as one step. Their keys:
 *
 * - KEYS[1]: a hash with `attempt`, `first` (the attempt that opened the run; absent: 1), `written` and `sent` (the
 *   numbers of the last entries), `sent:ID` for each call that has sent (the number of its entry), `ended`, `failure`
 * - KEYS[2]: a stream of events, KEYS[3]: a stream of messages. The id of entry n is `n-0`.
 */

/**
 * Nothing for an older attempt, an ended run or another write than the next, unless this one was done before: its reply
 * was lost, and this library or the client sends it again. ARGV: run, attempt, the last write of this process, the
 * events, the age in milliseconds. Returns the number of the write.
 */
export const APPEND = `local run, attempt, last, events, age = unpack(ARGV)
local state = redis.call('hmget', KEYS[1], 'attempt', 'written', 'ended')
local known, written, ended = tonumber(state[1] or 0), tonumber(state[2] or 0), state[3]
attempt, last = tonumber(attempt), tonumber(last)
if ended or known > attempt or (last and known ~= attempt) then return false end
local count = events == '' and 0 or 1
if last and written == last + 1 then
  local entry = redis.call('xrange', KEYS[2], written .. '-0', written .. '-0')[1]
  return entry and entry[2][2] == events and written
end
if last and written ~= last then return false end
if count == 1 then redis.call('xadd', KEYS[2], (written + 1) .. '-0', 'events', events) end
if known == 0 then redis.call('hset', KEYS[1], 'first', attempt) end
redis.call('hset', KEYS[1], 'attempt', attempt, 'written', written + count)
for _, key in ipairs(KEYS) do redis.call('pexpire', key, age) end
redis.call('publish', 'rivulet', run)
return written + count`;

/** `age` is in milliseconds. Nothing if another attempt has taken the run, or another end was written. */
export const END = `local run, attempt, failure, age = unpack(ARGV)
local state = redis.call('hmget', KEYS[1], 'attempt', 'ended', 'failure')
local known = tonumber(state[1] or 0)
attempt = tonumber(attempt)
if state[2] and known == attempt and state[3] == failure then return 1 end
if state[2] or known > attempt then return false end
redis.call('hset', KEYS[1], 'attempt', attempt, 'ended', 1, 'failure', failure)
for _, key in ipairs(KEYS) do redis.call('pexpire', key, age) end
redis.call('publish', 'rivulet', run)
return 1`;

/** Nothing if there is no such run. */
export const STATE = `local state = redis.call('hmget', KEYS[1], 'attempt', 'written', 'ended')
if not state[1] then return false end
return {tonumber(state[1]), tonumber(state[2] or 0), state[3] and 1 or 0}`;

export const FULL = -1;

/**
 * `id` is that of the call: if the reply was lost, this library or the client sends it again. `count` and `bytes`: how
 * many may wait after `after` (0: any number). Nothing if no such run is open.
 */
export const SEND = `local run, id, message, age, after, count, bytes = unpack(ARGV)
local call = 'sent:' .. id
local state = redis.call('hmget', KEYS[1], 'attempt', 'ended', 'sent', call)
if state[4] then return tonumber(state[4]) end
if not state[1] or state[2] then return false end
if count ~= '0' then
  local size = 0
  for _, entry in ipairs(redis.call('xrange', KEYS[3], '(' .. after .. '-0', '+')) do size = size + #entry[2][2] end
  if tonumber(state[3] or 0) - tonumber(after) >= tonumber(count) 
    or size > 0 and size + #message > tonumber(bytes) then return -1 end
end
local number = redis.call('hincrby', KEYS[1], 'sent', 1)
redis.call('hset', KEYS[1], call, number)
redis.call('xadd', KEYS[3], number .. '-0', 'message', message)
for _, key in ipairs(KEYS) do redis.call('pexpire', key, age) end
redis.call('publish', 'rivulet', run)
return number`;

/**
 * ARGV: `events` or `messages`, the last entry that was read, a limit. Nothing if there is no such run, or if Redis has
 * lost events that were read. Returns the first attempt, whether the run has ended, its failure, and the entries.
 */
export const READ = `local stream, after, count = unpack(ARGV)
local state = redis.call('hmget', KEYS[1], 'attempt', 'ended', 'failure', 'written', 'first')
if not state[1] or stream == 'events' and tonumber(state[4] or 0) < tonumber(after) then return false end
local key = stream == 'events' and KEYS[2] or KEYS[3]
local entries = redis.call('xrange', key, '(' .. after .. '-0', '+', 'count', count)
return {tonumber(state[5] or 1), state[2] and 1 or 0, state[3] or '', entries}`;
