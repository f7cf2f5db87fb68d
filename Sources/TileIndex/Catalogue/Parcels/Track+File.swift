import Support

extension Track {
  /// Reads a GPX or GeoJSON file.
  ///
  /// - Throws: ``TrackError``.
  public init(path: String) throws {
    let bytes: [UInt8]
    do {
      bytes = try JSONFile.bytes(path)
    } catch {
      throw TrackError(path: path, isUnreadable: true, "cannot be read: \(error)", remedy: "check the name")
    }
    let first = bytes.first { ![0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf].contains($0) }
    switch first {
    case UInt8(ascii: "{"): self = try GeoJSONTrack.read(bytes, path: path)
    case UInt8(ascii: "<"): self = try GPXTrack.read(bytes, path: path)
    default:
      throw TrackError(path: path, "is neither GPX nor GeoJSON", remedy: "export the track as one of them")
    }
    guard lines.contains(where: { !$0.isEmpty }) else {
      throw TrackError(path: path, "holds no point", remedy: "export the track with its points")
    }
  }
}
