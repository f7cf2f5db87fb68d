-- wrk asks for random tiles of the bundles of soak-bundles.py: 70 % stored tiles, 10 % @2x, 10 % enlarged from the deepest zoom,
-- 5 % of two bundles drawn over each other, 5 % as JPEG. Every one of them exists. Ends with one line: requests, errors, kinds of errors.
local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init()
  math.randomseed(20260101 + number)
end

local function path(id, zoom, tail)
  local last = 2 ^ zoom - 1
  return string.format("/%s/%d/%d/%d%s", id, zoom, math.random(0, last), math.random(0, last), tail)
end

function request()
  local kind = math.random(100)
  if kind <= 70 then return wrk.format("GET", path("base", 9, ".png")) end
  -- The four tiles of the next zoom make it.
  if kind <= 80 then return wrk.format("GET", path("base", math.random(6, 8), "@2x.png")) end
  if kind <= 90 then return wrk.format("GET", path("base", math.random(10, 12), ".png")) end
  if kind <= 95 then return wrk.format("GET", path("base,overlay", math.random(4, 9), ".png")) end
  return wrk.format("GET", path("base", 9, ".jpg"))
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format("result %d %d %d %d %d %d %d", summary.requests, latency:percentile(50), latency:percentile(99),
    errors.connect, errors.read + errors.write, errors.status, errors.timeout))
end
