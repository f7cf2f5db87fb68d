-- wrk asks for the tiles of a list, in its order and round and round: wrk -s random-tiles.lua URL -- LIST PREFIX
-- Each thread begins at another place of the list. Ends with one line for scripts: requests, microseconds, p50, p99, errors.
local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(args)
  requests = {}
  -- The requests are made beforehand: the generator shares the processor with the servers.
  for path in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("GET", args[2] .. path)
  end
  position = math.floor(number * #requests / 2) % #requests
end

function request()
  position = position % #requests + 1
  return requests[position]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format("result %d %d %d %d %d", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
