-- wrk: posts the requests of a file one after another; each thread starts at a different line:
-- `wrk -s post-hooks.lua <url> -- <path> <file>`; the file has lines of "<signature> <body>".
local threads = {}

function setup(thread)
  thread:set("number", #threads + 1)
  table.insert(threads, thread)
end

function init(args)
  requests = {}
  for line in io.lines(args[2]) do
    local signature, body = line:match("^(%S+) (.*)$")
    table.insert(requests, "POST " .. args[1] .. " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
      .. "X-Hub-Signature-256: " .. signature .. "\r\nContent-Type: application/json\r\n"
      .. "Content-Length: " .. #body .. "\r\n\r\n" .. body)
  end
  place = math.floor(#requests / 7) * number
end

function request()
  place = place % #requests + 1
  return requests[place]
end

function done(summary, latency)
  local errors = summary.errors
  print(string.format('{"seconds":%.6f,"answers":%d,"refused":%d,"broken":%d}',
    summary.duration / 1e6, summary.requests, errors.status,
    errors.connect + errors.read + errors.write + errors.timeout))
end
