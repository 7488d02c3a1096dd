"""The response of trees and ensembles of trees."""
