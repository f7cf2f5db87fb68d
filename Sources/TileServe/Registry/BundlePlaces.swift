import Support
import TileIndex

/// The bundles found by one scan of the folders; nothing is opened.
struct BundlePlaces: Sendable {
  /// A bundle and its id in URLs.
  struct Place: Hashable, Sendable {
    var id: String
    var path: String
    var status: FileSystem.Status
    /// The write-ahead log, whose changes make a new state of the tileset. For a folder of tiles, the
    /// most recent of its direct entries.
    var log: FileSystem.Status?

    /// True for the description of a tileset of another server.
    var isUpstream: Bool { path.hasSuffix(UpstreamSettings.suffix) }

    /// True for a file of tracks and places, whose tiles are drawn.
    var isTrack: Bool { BundlePlaces.isTrack(path) }

    /// A name that is the server's own in some URLs, where the tileset cannot be had.
    var warnings: [BundleError] {
      BundlePlaces.documents[id].map { document in
        [
          BundleError(
            .conflict, path: path, "cannot have \(document), because the server has another one",
            remedy: "give the file another name")
        ]
      } ?? []
    }

    /// When its tiles changed last, by the dates of its files; seconds since 1970.
    var modified: Int { max(status.modified, log?.modified ?? 0) }

    /// True if ``modified`` identifies the state: for a file that was written in place, so that no earlier one here had
    /// this date. Not for one that was copied with its date preserved, nor where single tiles may change: folders,
    /// tilesets of upstreams, bundles with a log.
    var hasOwnDate: Bool {
      status.kind == .file && log == nil && !isUpstream && (0...2).contains(status.changed - status.modified)
    }
  }

  /// Sorted by id.
  private(set) var places: [Place] = []
  /// Paths that cannot be served, with the reason.
  private(set) var refused: [String: String] = [:]
  /// Folders that cannot be listed, by the id that they would have: what is in them is not known.
  private(set) var unlisted: [String: String] = [:]
  /// Those of the refused paths whose id another path has.
  private(set) var duplicates: Set<String> = []
  /// False if something could not be read: what is missing then may still exist.
  private(set) var isComplete = true
  private var paths: [String: String] = [:]
  private let taken: Set<String>

  /// What the server has under its own names, by the id of a tileset that would have it too.
  static let documents = [
    "tilesets": "the document /tilesets.json", "wmts": "the page /wmts/", "_assets": "the page /_assets/",
  ]

  /// Nesting of folders that is followed.
  private static let depthMax = 16

  /// Scans bundles and folders.
  ///
  /// - Parameter taken: the ids of sources that are not files.
  /// - Complexity: O(files); about 6 microseconds a file.
  init(_ roots: [String], besides taken: Set<String> = []) {
    self.taken = taken
    for root in roots {
      guard let status = look(root) else {
        refused[root] = "there is no such file or folder"
        continue
      }
      if status.kind == .folder, !TileFolderReader.isTileFolder(root) {
        walk(root, status, id: Folder.name(root), prefix: "", above: [])
      } else {
        let log = status.kind == .file ? (try? FileSystem.status(root + "-wal")) : newest(in: root)
        add(id: Self.id(Folder.name(root)), path: root, status, log: log)
      }
    }
    places.sort { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
  }

  private mutating func look(_ path: String) -> FileSystem.Status? {
    do {
      return try FileSystem.look(at: path)
    } catch {
      isComplete = false
      return nil
    }
  }

  /// - Parameter above: the parent folders: a symbolic link to one of them would be a cycle.
  private mutating func walk(
    _ folder: String, _ status: FileSystem.Status, id: String, prefix: String, above: [FileSystem.Status]
  ) {
    if above.contains(where: { $0.identity == status.identity }) { return }
    let above = above + [status]
    let names: [String]
    do throws(FileSystem.SystemError) {
      names = try Folder.names(folder)
    } catch {
      if !Folder.isForbidden(folder) { isComplete = false }
      unlisted[id] = folder
      refused[folder] = "cannot be listed: \(error); \(error.openingRemedy)"
      return
    }
    // Hidden files are skipped: a bundle that is being written is one.
    let logs = Set(names.filter { $0.hasSuffix("-wal") })
    // The bundle that an upstream fills is served as the upstream's tileset.
    let filled = Set(names.filter { $0.hasSuffix(UpstreamSettings.suffix) }.map { Self.id($0) + ".mbtiles" })
    for name in names where !name.hasPrefix(".") && !filled.contains(name) {
      let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
      let isBundleName = Self.hasBundleExtension(name)
      // Most names show whether they are bundles; only possible bundles and folders cost a stat call.
      guard isBundleName || !Self.hasOtherExtension(name), let status = look(path) else { continue }
      if status.kind == .file {
        guard isBundleName else { continue }
        let log = logs.contains(name + "-wal") ? (try? FileSystem.status(path + "-wal")) : nil
        add(id: prefix + Self.id(name), path: path, status, log: log)
      } else if status.kind == .folder {
        if TileFolderReader.isTileFolder(path) {
          add(id: prefix + name, path: path, status, log: newest(in: path))
        } else if above.count <= Self.depthMax, !name.hasSuffix(".shards") {
          // A plan's shards are served through their tileset, not one by one.
          walk(path, status, id: prefix + name, prefix: prefix + name + "--", above: above)
        }
      }
    }
  }

  /// The most recent entry of a folder of tiles: a zoom's folder that got a column, or the metadata. Tiles that are
  /// rewritten within a column are not noticed here (a scan of every column would take seconds); they are served with
  /// the old date.
  private func newest(in folder: String) -> FileSystem.Status? {
    try? Folder.names(folder).prefix(64).compactMap { try? FileSystem.status("\(folder)/\($0)") }
      .max { ($0.modified, $0.modifiedNanoseconds) < ($1.modified, $1.modifiedNanoseconds) }
  }

  private mutating func add(id: String, path: String, _ status: FileSystem.Status, log: FileSystem.Status?) {
    guard !id.utf8.contains(where: { $0 < 0x20 || $0 == 0x7f }) else {
      refused[path] = "its name holds line breaks or other control characters, which no request may have; rename it"
      return
    }
    if taken.contains(id) {
      duplicates.insert(path)
      refused[path] = "its id \(id) is that of a source of the program already; give the file another name"
      return
    }
    if let other = paths[id] {
      if other != path {
        duplicates.insert(path)
        refused[path] = "its id \(id) is that of \(Folder.name(other)) already; give one of them another name"
      }
      return
    }
    paths[id] = path
    places.append(Place(id: id, path: path, status: status, log: log))
  }

  static func isTrack(_ path: String) -> Bool {
    let name = path.lowercased()
    return TrackReader.extensions.contains { name.hasSuffix($0) && name.utf8.count > $0.utf8.count }
  }

  /// A name without its extension.
  private static func id(_ name: String) -> String {
    if name.hasSuffix(UpstreamSettings.suffix), name.utf8.count > UpstreamSettings.suffix.utf8.count {
      return String(name.dropLast(UpstreamSettings.suffix.count))
    }
    guard hasBundleExtension(name) || isTrack(name), let dot = name.lastIndex(of: ".") else { return name }
    return String(name[..<dot])
  }

  private static func hasBundleExtension(_ name: String) -> Bool {
    let name = name.lowercased()
    return [".mbtiles", ".pmtiles", ".gpkg", ".tileset", UpstreamSettings.suffix].contains {
      name.hasSuffix($0) && name.utf8.count > $0.utf8.count
    }
  }

  /// True for the names of side files and images, which are common beside bundles.
  private static func hasOtherExtension(_ name: String) -> Bool {
    ["-wal", "-shm", "-journal", ".png", ".jpg", ".json", ".txt", ".md"].contains { name.hasSuffix($0) }
  }
}
