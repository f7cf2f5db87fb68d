-- wrk asks for each path of a list once: wrk -s links.lua URL -- LIST. For links that count only once; ends when they have run out.
-- Ends with one line for scripts: requests, microseconds, bytes, errors.
local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(args)
  requests = {}
  local line = 0
  for path in io.lines(args[1]) do
    -- Two threads share the list.
    if line % 2 == number then requests[#requests + 1] = wrk.format("GET", path) end
    line = line + 1
  end
  position = 0
end

function request()
  position = position + 1
  if position > #requests then wrk.thread:stop() end
  return requests[math.min(position, #requests)]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format("result %d %d %d %d", summary.requests, summary.duration, summary.bytes,
    errors.connect + errors.write + errors.status))
end
