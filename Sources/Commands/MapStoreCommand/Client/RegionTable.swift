import Foundation
import MapStoreClient
import MapStoreWire

/// Regions as a table for people.
enum RegionTable {
  static func lines(_ regions: [OfflineRegion]) -> [String] {
    let rows = regions.map { [$0.id, status($0), $0.edition ?? "-", $0.bytes.map(size) ?? "-", remarks($0)] }
    let widths = (0..<4).map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { $0.padding(toLength: $1, withPad: " ", startingAt: 0) } + [row[4]]
      return String(cells.joined(separator: "  ").reversed().drop { $0 == " " }.reversed())
    }
  }

  static func status(_ region: OfflineRegion) -> String {
    switch region.status {
    case .forSale: "for sale"
    case .pendingApproval: "pending approval"
    case .ownedNotInstalled: "owned, not installed"
    case .ownedInstalled: "installed"
    case .updateAvailable: "update available"
    case .revoked: "revoked"
    case nil: region.installed == nil ? "not asked yet" : "installed"
    }
  }

  private static func remarks(_ region: OfflineRegion) -> String {
    var remarks: [String] = []
    if let installed = region.installed, installed.edition != region.edition {
      remarks.append("has \(installed.edition)")
    }
    if let patch = region.patchBytes, region.status == .updateAvailable { remarks.append("patch of \(size(patch))") }
    if !region.parcels.isEmpty { remarks.append("\(region.parcels.count) parcels") }
    for way in region.downloads {
      let part = way.bytesTotal > 0 ? way.bytesDone * 100 / way.bytesTotal : 100
      remarks.append("\(way.isPaused ? "paused" : "interrupted") at \(part)% of \(way.edition)")
    }
    return remarks.joined(separator: ", ")
  }

  static func size(_ bytes: Int) -> String {
    bytes < 1_000_000 ? "\((bytes + 999) / 1000) kB" : String(format: "%.1f MB", Double(bytes) / 1e6)
  }
}
