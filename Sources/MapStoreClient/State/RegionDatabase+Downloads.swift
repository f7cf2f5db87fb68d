import Support
import TileIndex

/// Downloads and their pieces.
extension RegionDatabase {
  /// The downloads, oldest first.
  func downloads() throws -> [Download] {
    try run { connection in
      let statement = try connection.prepare(
        """
        SELECT id, region, pack, kind, edition, from_edition, bytes, sha256, result_bytes, result_sha256, tiles_hash,
        state, entity_tag FROM download ORDER BY id
        """)
      var downloads: [Download] = []
      while try statement.step() {
        // Somebody may have edited the file: rows that no check would let in are ignored.
        guard let part = statement.part(1), statement.int(6) > 0, statement.int(8) > 0 else { continue }
        let wanted = WantedFile(
          part: part, kind: WantedFile.Kind(rawValue: statement.text(3)) ?? .bundle,
          edition: statement.text(4), fromEdition: statement.optionalText(5), bytes: statement.int(6),
          sha256: statement.text(7), resultBytes: statement.int(8), resultSHA256: statement.text(9),
          tilesHash: statement.optionalText(10))
        downloads.append(
          Download(
            id: statement.int(0), wanted: wanted,
            state: Download.State(rawValue: statement.text(11)) ?? .fetching,
            entityTag: statement.optionalText(12)))
      }
      return downloads
    }
  }

  func download(_ part: RegionPart) throws -> Download? { try downloads().first { $0.wanted.part == part } }

  /// Records a download that is about to begin.
  func begin(_ wanted: WantedFile) throws -> Download {
    try change { connection in
      let insert = try connection.prepare(
        """
        INSERT OR REPLACE INTO download (region, pack, kind, edition, from_edition, bytes, sha256, result_bytes, \
        result_sha256,
        tiles_hash, state) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'fetching') RETURNING id
        """)
      insert.bind(1, wanted.part)
      insert.bind(3, wanted.kind.rawValue)
      insert.bind(4, wanted.edition)
      insert.bind(5, wanted.fromEdition)
      insert.bind(6, wanted.bytes)
      insert.bind(7, wanted.sha256)
      insert.bind(8, wanted.resultBytes)
      insert.bind(9, wanted.resultSHA256)
      insert.bind(10, wanted.tilesHash)
      let id = try insert.step() ? insert.int(0) : 0
      insert.reset()
      return Download(id: id, wanted: wanted, state: .fetching)
    }
  }

  /// Deletes the record; the caller deletes the files afterwards.
  func drop(_ download: Download) throws {
    try run { try $0.execute("DELETE FROM download WHERE id = \(download.id)") }
    onChange()
  }

  /// - Returns: false if the download does not exist any more.
  @discardableResult
  func set(_ state: Download.State, of download: Download) throws -> Bool {
    defer { onChange() }
    return try run { connection in
      let statement = try connection.prepare("UPDATE download SET state = ? WHERE id = ? RETURNING id")
      statement.bind(1, state.rawValue)
      statement.bind(2, download.id)
      return try statement.step()
    }
  }

  func setEntityTag(_ tag: String?, of download: Download) throws {
    try run { connection in
      let statement = try connection.prepare("UPDATE download SET entity_tag = ? WHERE id = ?")
      statement.bind(1, tag)
      statement.bind(2, download.id)
      try statement.run()
    }
  }

  func pieces(of download: Download) throws -> [Piece] {
    try run { connection in
      let statement = try connection.prepare("SELECT first, end, sha256 FROM piece WHERE download = ? ORDER BY first")
      statement.bind(1, download.id)
      var pieces: [Piece] = []
      while try statement.step() {
        let (first, end) = (statement.int(0), statement.int(1))
        guard 0 <= first, first < end, end <= download.wanted.bytes else { continue }
        pieces.append(Piece(range: first..<end, sha256: statement.text(2)))
      }
      return pieces
    }
  }

  /// Records a piece that is on the disk.
  func record(_ piece: Piece, of download: Download) throws {
    try run { connection in
      let statement = try connection.prepare("INSERT OR REPLACE INTO piece VALUES (?, ?, ?, ?)")
      statement.bind(1, download.id)
      statement.bind(2, piece.range.lowerBound)
      statement.bind(3, piece.range.upperBound)
      statement.bind(4, piece.sha256)
      try statement.run()
    }
  }

  /// Deletes the records of damaged pieces, which are fetched again.
  func forget(_ pieces: [Piece], of download: Download) throws {
    guard !pieces.isEmpty else { return }
    try change { connection in
      for piece in pieces {
        try connection.execute(
          "DELETE FROM piece WHERE download = \(download.id) AND first = \(piece.range.lowerBound)")
      }
    }
  }
}
