# A GridFS file as a body that is sent while a thread reads it, as in Thin's example async_app.ru.
class Download
  include EM::Deferrable

  def initialize(env, head)
    @respond = env['async.callback']
    @head = head
    env['async.close'].callback { @closed = true } # answered, or the client has left
  end

  # Thin calls it once it has sent the head.
  def each(&send) = @send = send

  # Called in a thread. The response begins with the first chunk; without one it is returned.
  def read(file, left)
    begin
      file.each do |chunk|
        break if @closed

        EM.next_tick { @respond.call([*@head, self]) } unless @begun
        EM.next_tick { @send&.call(chunk) } # unless the head was refused
        left -= (@begun = chunk).bytesize
      end
    ensure
      file.close unless file.closed?
    end
    raise 'the last chunks are missing' unless left.zero? || @closed

    @begun ? EM.next_tick { succeed } : [*@head, []]
  rescue StandardError => e
    @begun ? EM.next_tick { @respond.call(Enumerator.new { raise e }) } : raise # Thin logs it, and ends the connection
  end
end
