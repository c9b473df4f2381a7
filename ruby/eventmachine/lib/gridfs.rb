# frozen_string_literal: true

# Files in MongoDB: https://github.com/mongodb/specifications/tree/master/source/gridfs
class GridFS
  # A stored file. Its chunks are asked for one by one, which leaves no cursor behind.
  class StoredFile
    def initialize(mongodb, document)
      @mongodb = mongodb
      @document = document
    end

    def id
      @document['_id'].to_s
    end

    def length
      @document['length']
    end

    def content_type
      @document['metadata']['contentType']
    end

    def each
      sent = number = 0
      while sent < length && (chunk = find_chunk(number))
        data = chunk['data'].data
        sent += data.bytesize
        yield data
        data.clear # rather than wait for the collector
        number += 1
      end
    end

    def close; end

    private

    def find_chunk(number)
      @mongodb.find('fs.chunks', { files_id: @document['_id'], n: number }, limit: 1).first
    end
  end

  def initialize(mongodb)
    @mongodb = mongodb
  end

  # The newest revision of a name; nil if there is none.
  def find(name)
    document = @mongodb.find('fs.files', { filename: name }, sort: { uploadDate: -1 }, limit: 1)[0]
    document && StoredFile.new(@mongodb, document)
  end
end
