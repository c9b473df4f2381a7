# frozen_string_literal: true

# The files of one folder.
class Files
  # An open file, or a part of it.
  class Body
    PIECE = 64 * 1024

    attr_reader :stat

    def initialize(path)
      @file = File.open(path, 'rb')
      @stat = @file.stat
      @range = 0...@stat.size
    end

    def length
      @range.size
    end

    def narrow(range)
      @range = range
      self
    end

    # Reads, where a file in memory would kill the process when somebody cuts it short.
    def each
      offset = @range.begin
      buffer = String.new(capacity: PIECE)
      while offset < @range.end
        offset += @file.pread([PIECE, @range.end - offset].min, offset, buffer).bytesize
        yield buffer
      end
    end

    def close
      @file.close
    end
  end

  def initialize(folder)
    @folder = folder
  end

  # The open file of this name; nil if there is none, or if it is a link that leaves the folder.
  def open(name)
    path = File.realpath(name, @folder)
    Body.new(path) if path.start_with?("#{@folder}/") && File.file?(path)
  rescue Errno::ENOENT, Errno::ENOTDIR, Errno::ELOOP, Errno::ENAMETOOLONG
    nil
  end
end
