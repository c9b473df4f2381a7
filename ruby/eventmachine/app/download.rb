require 'eventmachine'

# A GridFS file as a body that is sent while a thread reads it, as in Thin's example:
# https://github.com/macournoyer/thin/blob/master/example/async_app.ru
class Download
  include EM::Deferrable

  def initialize(env, head)
    @respond = env['async.callback']
    @head = head
    env['async.close'].callback { @closed = true }
  end

  def each(&send) = @send = send # Thin calls it once it has sent the head

  # Called in a thread. The response begins with the first chunk; without one it is returned.
  def read(file, left)
    file.each do |chunk|
      @closed ? break : send_later(chunk)
      left -= chunk.bytesize
    end
    raise 'the last chunks are missing' unless left.zero? || @closed
    return [*@head, []] unless @begun

    EM.next_tick { succeed }
  rescue StandardError => e
    raise unless @begun

    EM.next_tick { @respond.call(Enumerator.new { raise e }) } # Thin logs it, and ends the connection
  ensure
    file.close unless file.closed?
  end

  private

  def send_later(chunk)
    EM.next_tick { @respond.call([*@head, self]) } unless @begun
    EM.next_tick { @send.call(chunk) }
    @begun = true
  end
end
