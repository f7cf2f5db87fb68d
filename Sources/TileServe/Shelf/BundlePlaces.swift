import Support
import TileIndex

/// Where bundles lie: the answer to one look through the folders, nothing opened.
struct BundlePlaces: Sendable {
  /// A bundle and the name that URLs give it.
  struct Place: Hashable, Sendable {
    var id: String
    var path: String
    var status: FileStatus
    /// What is written to the bundle and not yet in it: changes in a write-ahead log make a new state of the tileset. For a folder of tiles, the
    /// youngest of what lies directly in it.
    var log: FileStatus?

    /// True for the description of a tileset of another server.
    var isUpstream: Bool { path.hasSuffix(UpstreamSettings.suffix) }

    /// When its tiles changed last, as far as can be seen from outside; seconds since 1970.
    var modified: Int { max(status.modified, log?.modified ?? 0) }

    /// True where ``modified`` tells the states apart: of a file that was written where it lies, so that no other one here had this date before. Not of one that came
    /// with the date that it had elsewhere, nor where tiles may change one by one: folders, tilesets of other servers, bundles with a log.
    var hasOwnDate: Bool {
      status.isFile && log == nil && !isUpstream && (0...2).contains(status.changed - status.modified)
    }
  }

  /// Sorted by id.
  private(set) var places: [Place] = []
  /// Paths that cannot be served, with the reason.
  private(set) var refused: [String: String] = [:]
  /// False when something could not be looked at: what is missing then may still be there.
  private(set) var isComplete = true
  private var paths: [String: String] = [:]

  /// Deep enough for any shelf.
  private static let depthMax = 16

  /// Looks through bundles and folders.
  ///
  /// - Complexity: O(files); about 6 microseconds a file.
  init(_ roots: [String]) {
    for root in roots {
      guard let status = look(root) else {
        refused[root] = "there is no such file or folder"
        continue
      }
      if status.isFolder, !TileFolderReader.isTileFolder(root) {
        walk(root, status, prefix: "", above: [])
      } else {
        let log = status.isFile ? FileStatus(root + "-wal") : newest(in: root)
        add(id: Self.id(Self.name(root)), path: root, status, log: log)
      }
    }
    places.sort { $0.id.utf8.lexicographicallyPrecedes($1.id.utf8) }
  }

  private mutating func look(_ path: String) -> FileStatus? {
    do {
      return try FileStatus(looking: path)
    } catch {
      isComplete = false
      return nil
    }
  }

  /// - Parameter above: the folders on the way here: a link back to one of them would lead in circles.
  private mutating func walk(_ folder: String, _ status: FileStatus, prefix: String, above: [FileStatus]) {
    if above.contains(where: { $0.device == status.device && $0.inode == status.inode }) { return }
    let above = above + [status]
    let names: [String]
    do throws(FileSystem.SystemError) {
      names = try Folder.names(folder)
    } catch {
      if !FileStatus.isForbidden(folder) { isComplete = false }
      refused[folder] = "cannot be listed: \(error); \(error.openingRemedy)"
      return
    }
    // Hidden files are other programs' business: bundles that are being written, for one.
    let logs = Set(names.filter { $0.hasSuffix("-wal") })
    // The bundle that an upstream fills is served through it.
    let filled = Set(names.filter { $0.hasSuffix(UpstreamSettings.suffix) }.map { Self.id($0) + ".mbtiles" })
    for name in names where !name.hasPrefix(".") && !filled.contains(name) {
      let path = folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
      let isBundleName = Self.hasBundleExtension(name)
      // Most entries of a shelf are bundles or are not; only what may be one of them, or a folder, costs a look.
      guard isBundleName || !Self.hasOtherExtension(name), let status = look(path) else { continue }
      if status.isFile {
        guard isBundleName else { continue }
        let log = logs.contains(name + "-wal") ? FileStatus(path + "-wal") : nil
        add(id: prefix + Self.id(name), path: path, status, log: log)
      } else if status.isFolder {
        if TileFolderReader.isTileFolder(path) {
          add(id: prefix + name, path: path, status, log: newest(in: path))
        } else if above.count <= Self.depthMax {
          walk(path, status, prefix: prefix + name + "--", above: above)
        }
      }
    }
  }

  /// The youngest entry of a folder of tiles: a zoom's folder that got a column, or the metadata. Tiles that are written anew within a column are
  /// not noticed here (a look at every column would take seconds); they are served, with the old date.
  private func newest(in folder: String) -> FileStatus? {
    try? Folder.names(folder).prefix(64).compactMap { FileStatus("\(folder)/\($0)") }
      .max { ($0.modified, $0.modifiedNanoseconds) < ($1.modified, $1.modifiedNanoseconds) }
  }

  private mutating func add(id: String, path: String, _ status: FileStatus, log: FileStatus?) {
    if let other = paths[id] {
      if other != path {
        refused[path] = "its id \(id) is that of \(Self.name(other)) already; give one of them another name"
      }
      return
    }
    paths[id] = path
    places.append(Place(id: id, path: path, status: status, log: log))
  }

  /// The last part of a path.
  static func name(_ path: String) -> String {
    let last = path.split(separator: "/").last.map(String.init) ?? path
    guard last == "." || last == ".." else { return last }
    // Neither is a name that can stand in a URL.
    return Folder.realPath(path).split(separator: "/").last.map(String.init) ?? last
  }

  /// A name without its extension.
  private static func id(_ name: String) -> String {
    if name.hasSuffix(UpstreamSettings.suffix), name.utf8.count > UpstreamSettings.suffix.utf8.count {
      return String(name.dropLast(UpstreamSettings.suffix.count))
    }
    guard hasBundleExtension(name), let dot = name.lastIndex(of: ".") else { return name }
    return String(name[..<dot])
  }

  private static func hasBundleExtension(_ name: String) -> Bool {
    let name = name.lowercased()
    return [".mbtiles", ".pmtiles", UpstreamSettings.suffix].contains {
      name.hasSuffix($0) && name.utf8.count > $0.utf8.count
    }
  }

  /// True for the names of side files and pictures, which lie beside bundles in numbers.
  private static func hasOtherExtension(_ name: String) -> Bool {
    ["-wal", "-shm", "-journal", ".png", ".jpg", ".json", ".txt", ".md"].contains { name.hasSuffix($0) }
  }
}
