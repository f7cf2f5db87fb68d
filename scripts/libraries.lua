-- wrk asks for libraries in turn, each with a session of its own: wrk -s libraries.lua URL -- FILE, a line "TOKEN PATH" each.
local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(args)
  requests = {}
  for line in io.lines(args[1]) do
    local token, path = line:match("^(%S+) (%S+)$")
    requests[#requests + 1] = wrk.format("GET", path, { ["Authorization"] = "Bearer " .. token })
  end
  -- The threads begin at different places.
  position = number * 311
end

function request()
  position = position + 1
  return requests[position % #requests + 1]
end
