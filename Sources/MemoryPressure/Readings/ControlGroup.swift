/// The control groups that this process is in and that count memory: its own and those around it, any of which may have a limit
/// (cgroups(7); the kernel's admin-guide/cgroup-v2 and cgroup-v1/memory).
struct ControlGroup: Hashable, Sendable {
  enum Version: Hashable, Sendable { case one, two }

  var version: Version
  /// Where the group's files lie.
  var folder: String

  /// The process's own group and those around it, the innermost first; of each version that is there.
  static func all(_ text: SystemText) -> [ControlGroup] {
    guard let own = text.read("/proc/self/cgroup"), let mounts = text.read("/proc/self/mountinfo") else { return [] }
    var groups: [ControlGroup] = []
    for line in own.split(separator: "\n") {
      // number:controllers:path; the path may have colons.
      let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { continue }
      let version: Version
      if parts[0] == "0", parts[1].isEmpty {
        version = .two
      } else if parts[1].split(separator: ",").contains("memory") {
        version = .one
      } else {
        continue
      }
      guard let mount = Mount(version, mounts) else { continue }
      groups += mount.folders(String(parts[2])).map { ControlGroup(version: version, folder: $0) }
    }
    return groups
  }

  /// Where a hierarchy is mounted, and which of its folders is there.
  private struct Mount {
    var root: String
    var point: String

    init?(_ version: Version, _ mounts: String) {
      for line in mounts.split(separator: "\n") {
        // 36 35 98:0 /root /point options [fields] - type source options
        let words = line.split(separator: " ").map(String.init)
        guard let dash = words.firstIndex(of: "-"), dash >= 6, words.count > dash + 3 else { continue }
        let isWanted =
          version == .two
          ? words[dash + 1] == "cgroup2"
          : words[dash + 1] == "cgroup" && words[dash + 3].split(separator: ",").contains("memory")
        guard isWanted else { continue }
        (root, point) = (Self.unescaped(words[3]), Self.unescaped(words[4]))
        return
      }
      return nil
    }

    /// The folder of a group and those above it, up to where the hierarchy is mounted.
    func folders(_ path: String) -> [String] {
      var rest = path
      if root != "/" {
        // Inside a container the path may be that of the host; what is mounted is then the container's own group.
        rest = path == root ? "" : path.hasPrefix(root + "/") ? String(path.dropFirst(root.count)) : ""
      }
      // A group outside of what is mounted is written with steps upwards.
      let steps = rest.split(separator: "/").map(String.init)
      guard !steps.contains("..") else { return [point] }
      return (0...steps.count).reversed().map { count in
        steps.prefix(count).reduce(point == "/" ? "" : point) { "\($0)/\($1)" }
      }
    }

    /// Blanks and the like are written as `\040`.
    private static func unescaped(_ word: String) -> String {
      guard word.contains("\\") else { return word }
      var bytes: [UInt8] = []
      var rest = Array(word.utf8)[...]
      while let byte = rest.popFirst() {
        if byte == UInt8(ascii: "\\"), rest.count >= 3,
          let code = UInt8(String(decoding: rest.prefix(3), as: UTF8.self), radix: 8)
        {
          bytes.append(code)
          rest = rest.dropFirst(3)
        } else {
          bytes.append(byte)
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}
