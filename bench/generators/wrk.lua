-- Requests the paths in a file, in order or at random, and prints the results as one line of JSON.

local threads = 0

function setup(thread)
  thread:set("number", threads)
  threads = threads + 1
end

function init(arguments)
  local paths = {}
  for path in io.lines(arguments[1]) do
    paths[#paths + 1] = path
  end
  local at_random, last = arguments[2] == "random", number
  math.randomseed(number + 1)
  if #paths == 1 then
    wrk.path = paths[1]
    return
  end
  request = function()
    last = at_random and math.random(#paths) or last % #paths + 1
    return wrk.format(nil, paths[last])
  end
end

function done(summary, latency, _)
  local errors = summary.errors
  local function ms(percentile)
    return string.format("%.3f", latency:percentile(percentile) / 1000)
  end
  print(string.format(
    '{"requests":%d,"microseconds":%d,"connect":%d,"read":%d,"timeout":%d,"status":%d,' ..
    '"p50":%s,"p75":%s,"p90":%s,"p95":%s,"p99":%s,"p99_9":%s,"max":%.3f}',
    summary.requests, summary.duration, errors.connect, errors.read + errors.write, errors.timeout,
    errors.status, ms(50), ms(75), ms(90), ms(95), ms(99), ms(99.9), latency.max / 1000))
end
